"""Carrying a frame through the student and the policy, to a finished, verifiable file."""
