"""Moving the labels of an archived project into a Parquet file, and back."""
