"""Transformers: texts to tokens, tokens through an ONNX graph. Extra `transformer`."""
