"""Deciding on scores: fitting a policy to labels, comparing two, choosing an operating point."""
