"""Signatures of tags and of provenance, made and checked without any program beside ours."""
