"""The Kptfile: read into typed values, and changed as text."""
