"""Supervised hash learning (*SHL): kernel hash functions and codewords, learnt together."""
