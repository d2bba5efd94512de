"""What a work is: the frame contract, its readers, and the one text cleaner."""
