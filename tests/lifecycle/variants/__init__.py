"""Tests of lifecycle/variants."""
