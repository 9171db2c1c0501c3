"""Items: their texts, media, captions and features."""
