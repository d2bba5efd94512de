"""What teachers said of works: the labelled sample, and the targets that labels hold."""
