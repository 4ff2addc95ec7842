"""Trained models as data: trees, linear models and neural networks, with importers and exporters.

`model` defines the models, `scoring` evaluates them, `importers` read the files of other programs, and `exporters`
write files for engines, each with a certificate of what the engine's arithmetic changes.
"""
