"""How kernels are compiled: `@kernel` is numba without the GIL, cached on disk per source hash.

numba's own cache looks only at the file that holds a function, so it serves stale code when a
kernel calls another one in an edited file. Here the cache folder is named after a hash of every
kernel source (all files called `*kernels.py`), so any edit starts a fresh cache.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import numba


@cache
def _cache_folder() -> str:
    digest = hashlib.sha256(numba.__version__.encode())
    package = Path(__file__).parent
    for source in sorted(package.rglob("*kernels.py")):
        digest.update(str(source.relative_to(package)).encode() + b"\0" + source.read_bytes())
    root = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return str(Path(root) / "tflex" / f"kernels-{digest.hexdigest()[:16]}")


def kernel(function: Callable[..., Any]) -> Any:
    """Compile a function on its first call (no Python objects, no GIL) and keep it on disk."""
    return _compiled(function, {})


def inlined(function: Callable[..., Any]) -> Any:
    """A kernel that is put into its callers; a call that passes arrays costs more than its work."""
    return _compiled(function, {"forceinline": True})


def _compiled(function: Callable[..., Any], options: dict[str, Any]) -> Any:
    compiled: Any = numba.njit(nogil=True, **options)(function)
    previous = numba.config.CACHE_DIR
    numba.config.CACHE_DIR = _cache_folder()
    try:
        compiled.enable_caching()
    except RuntimeError:
        pass  # No folder can be written: the function is compiled in every process.
    finally:
        numba.config.CACHE_DIR = previous
    return compiled
