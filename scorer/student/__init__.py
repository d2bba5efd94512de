"""The student: its bundle, its encoder, its scores."""
