"""Tiny tensors: more threads only wait for each other, the more so beside parallel tests."""

import torch

torch.set_num_threads(1)
