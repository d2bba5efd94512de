"""Readers of works, one module a family of formats; `registry.py` lists them all."""
