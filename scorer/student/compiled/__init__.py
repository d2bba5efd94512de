"""The `ngram` student by compiled loops: the same bits, several times as fast. Extra `fast`."""
