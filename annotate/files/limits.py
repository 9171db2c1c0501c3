"""What one import may hold at most, and the refusal of a file that holds more or makes no sense."""

from django.conf import settings

from annotate.core.errors import UserError

MAX_FILE_BYTES = 50 * 1024 * 1024
MAX_ROWS = 100_000
MAX_SHEET_CELLS = 300_000  # of all sheets of a workbook; 1.5 seconds for every 100,000
MAX_WORKBOOK_UNFOLDED = 100 * 2**20
MAX_PARQUET_UNFOLDED = 200 * 2**20  # as the file says of its row groups
MAX_PARQUET_COLUMNS = 300  # those within lists and structs too
MAX_PARQUET_MEMORY = 768 * 2**20  # of the process that reads one
MAX_PARQUET_SECONDS = 30  # of processor time
MAX_TEXT = 100_000
MAX_KEY = 200
MAX_TITLE = 200
MAX_COMPETITOR = 100
MAX_LINK = 2000
MAX_METADATA = 20  # columns of one item
MAX_METADATA_NAME = 60
MAX_METADATA_VALUE = 500
MAX_TAG = 100
MAX_TAGS = 20
MAX_IMAGES = 100
MAX_IMAGE_BYTES = settings.MAX_IMAGE_MB * 2**20
MAX_DOCUMENT_BYTES = settings.MAX_DOCUMENT_MB * 2**20
MAX_DOCUMENT_PAGES = settings.MAX_DOCUMENT_PAGES
MAX_IMPORT_PAGES = settings.MAX_IMPORT_PAGES
MAX_DOCUMENT_UNFOLDED = 100 * 2**20  # bytes of all parts of a DOCX together
MAX_CAPTIONS_BYTES = 500 * 1024
MAX_RECORDING_BYTES = settings.MAX_RECORDING_MB * 2**20
MAX_ZIP_BYTES = 500 * 2**20
MAX_UNFOLDED = 2 * 2**30  # bytes of all files of a zip file together
MAX_ENTRIES = 10_000
MOST_FOLDED = 200  # bytes unfolded for each byte stored; media hardly fold at all
MAX_MATRIX_BYTES = 500 * 2**20
MAX_COMPARISONS = 250_000
SMALL = 2000  # rows: such a file is checked and imported while its owner waits; a longer one by the engine
SMALL_SIDE = 32  # pixels; a picture with a shorter side is told of
MAX_IMAGE_PIXELS = 25_000_000
MAX_JPEG_SCANS = 100  # each goes over the whole picture, however few bytes it has; cameras and programs write up to 10
MAX_PIXELS_TOGETHER = 250_000_000


class BadFile(UserError):
    """The whole file can't be read; `str(refusal)` names the value, the limit and the next step."""

    status = 400


class Unusable(Exception):
    """One row, cell or file that can't be used; the text says why."""
