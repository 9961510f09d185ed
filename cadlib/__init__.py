"""Packages: read, edit losslessly, render, diff; pure, no input or output."""
