"""What the layer probe is made of: which rows train and test, classifiers, scores, surface baselines."""
