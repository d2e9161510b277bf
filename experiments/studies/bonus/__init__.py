"""The study `bonus`."""
