"""The study `blindness`."""
