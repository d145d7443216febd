"""Fault injection, random users, kills and damaged files, for minutes or hours."""
