"""Where [CLS] looks: the attention that it pays in every layer and head, measured row by row."""
