"""What people do with scores: ranking, audit samples, evaluation."""
