"""Packages read, edited without loss, merged, rendered and compared; no input or output."""
