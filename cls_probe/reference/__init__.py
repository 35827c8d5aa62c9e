"""The AG News classifier: model, fine-tuning, evaluation and the bundled weights."""
