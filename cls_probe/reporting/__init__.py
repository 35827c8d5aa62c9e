"""Results -> one self-contained HTML page."""
