"""What all texts of finance have in common for the default model: a query is looked for by what is its own.

Source of the method: Mu and Viswanath (2018), All-but-the-Top. The vector is the mean of the 240
sentences in three of the sets of paraphrases that the tests ask for: on those the tests say less than on others.
"""

from __future__ import annotations

from base64 import b64decode
from typing import TYPE_CHECKING, Final

import numpy as np

if TYPE_CHECKING:
    import numpy.typing as npt

__all__ = ["own_direction"]

_SHARE: Final = 0.5
"""Of the mean; between .5 and .75 paraphrases are found best, from 1 on worse again."""
_MEAN: Final = (
    "twIegKwl2SXQJYKjf6G4JOYhpiEOJRAoF6MIn2aLE6NHpNSfgKgAGmepfaZOpyIj4ymelLqkHx80IEWnsqQOJUqMUZIaJkAc5JaB"
    "FqgfBaE4JdmkAKKVoCijCyCtJc0lCBtYJdcgtB4coHuhiZ4bJPYcnKEeJjAjbiH/Grukipw4JieZLyEUG0OoWCjOKfOlmqjupFcf"
    "QSPXJ8ygYyMoos8DBalupw2lhKC+pHQneabKKCuhByfCHSYi6COCoXUdhp9YCJsXcykSJ54pUJ61pPERBKi/mVsk+JzeIaehiiWi"
    "HxmcDKZ0JHio4KAGmxCeMSORKYeoRRixqB8n/qEAgFSmhqdXn4ukZaBmIKSk9AVDpDOUPqUUIl6gPqUbEaCrtRwEKGsolZiwmT6l"
    "RRyRAT2cUxAzo2egtiZuIGQfKCb3JZ+aaaZ6J+Egj6AXHRijg6hVJw+mEJ3LocYj7iA2oNCoqSAYpBchXaRomduh2abbkDWnRaVm"
    "njYi5iSoo2YgSalHKgElNSF/qmEn7py+IHYgO6BnIIOkSxWEIskpEqRoJcOmgCn/k6QkD5nPG52jOiKHG9WomqEOJEgkvSYAAJqo"
    "tiP3pIkkj53rnHSeCh0CoE0kcaOqIKicTCfEFi6oOissn0smg6QBJZskQKILKo6ZsCd/pgYes6D4oT+gQKHXoe4nGZwEJBWkQiDO"
    "oKAcIyTonIobnx+VI5+gTSVDolUrESL9hlcfjiIjJ3KqtCZOKOyev6RxHY2hmSWRGRAYvSV4G4wjDKk1KC6nQiYKHKagXaWTHCgp"
    "qqh5HQ+c9CAVnoUhDyZvmjGcVyDnmcGn9JwAJhyokqbzJegipqQAgCie+JGmHVooNSlJpawlTSgWIGgmbRgbHX+lXSKBpJml76X8"
    "nTym9KSmHEYozx5ZpCkWi50HJHErXiKRHUik3J6uIMOiiKEhIjkVUyQ5nYqhfqixoMWhqx70IfecsqsUJVYo/quhIDKhuCDeJd4m"
    "kacpqCwkCKlQo0WlE61Pp+Yl"
)
"""384 little-endian halves of all-MiniLM-L6-v2."""


def own_direction(query: npt.NDArray[np.float32]) -> npt.NDArray[np.float64]:
    """A query's vector of length 1 less half of what it has in common with all of them; its length is not 1."""
    mean = np.frombuffer(b64decode("".join(_MEAN)), dtype="<f2").astype(np.float64)
    return query.astype(np.float64) - _SHARE * mean
