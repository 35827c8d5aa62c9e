"""How to train: the numbers of a fine-tuning, with defaults that suit BERT-base and MiniLM."""

from dataclasses import dataclass

from cls_probe.errors import InputError

_RANGES = {
    "epochs": (0.0, 1000.0),
    "batch_size": (1, 100_000),
    "lr": (0.0, 1.0),
    "head_lr": (0.0, 1.0),
    "layer_decay": (0.0, 1.0),
    "warmup": (0.0, 1.0),
    "weight_decay": (0.0, 1.0),
    "label_smoothing": (0.0, 0.99),
    "dropout": (0.0, 0.99),
    "average": (0, 12),
    "max_length": (3, 1_000_000),
    "held_out": (0.0, 0.5),
    "seed": (0, 2**32 - 1),
}
_ABOVE = ("epochs", "lr", "head_lr", "layer_decay", "held_out")
"""Numbers that must be above the lower end of their range."""


@dataclass(frozen=True, kw_only=True)
class Recipe:
    """The numbers of a fine-tuning; the same recipe, rows and base give the same model on the same machine."""

    epochs: float = 3.0
    """Passes over the training rows."""
    batch_size: int = 32
    """Rows of a step, on each device."""
    lr: float = 5e-5
    """Peak learning rate of the encoder's last layer; it falls linearly to 0."""
    head_lr: float = 5e-4
    """Peak learning rate of the head."""
    layer_decay: float = 0.9
    """Learning rate of a layer as a share of that of the layer above, in (0, 1]; 1 treats all layers alike."""
    warmup: float = 0.06
    """Share of the steps during which the learning rate rises."""
    weight_decay: float = 0.01
    """AdamW's, on weight matrices only."""
    label_smoothing: float = 0.1
    """Probability taken from the true class and spread evenly over all (Szegedy et al. 2016)."""
    dropout: float = 0.1
    """Of the head; the encoder keeps its own."""
    average: int = 0
    """Also try the mean of the last so many checkpoints; it is kept if it is better on the held-out rows."""
    max_length: int = 192
    """Tokens of a text, special tokens included; longer texts are cut."""
    held_out: float = 0.05
    """Share of the rows, class by class, that chooses the checkpoint."""
    bf16: bool = False
    """Train with bfloat16 autocast; the weights stay float32."""
    float16: bool = False
    """Store the weights as float16, in half the space."""
    seed: int = 0
    """Of the head's first weights, the order of rows, dropout and the split."""

    def __post_init__(self) -> None:
        """Refuse numbers that cannot work, with an InputError that names the first."""
        for name, (low, high) in _RANGES.items():
            value = getattr(self, name)
            if not low <= value <= high or (name in _ABOVE and value == low):
                raise InputError(f"{name} is {value}; expected {'above ' if name in _ABOVE else ''}{low:g} to {high:g}")
