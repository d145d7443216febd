"""Attacks on the program, run for minutes or hours: hostile files and what may join them."""
