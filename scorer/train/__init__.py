"""Making a student: from teachers' labels to a bundle (extra `train`)."""
