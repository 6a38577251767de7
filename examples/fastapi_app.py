"""A model behind FastAPI: one route that returns labels and the words that support them.

    uvicorn fastapi_app:app        # then POST {"text": "..."} to /suggest
    python fastapi_app.py          # asks the app and prints the answers

`defrag serve` has this and more (a page, several models, metrics) without a line of code.
"""

import asyncio
import sys
import tempfile
from pathlib import Path

from defrag import TextClassifier, load, load_dataset

try:
    import httpx
    from fastapi import FastAPI
    from pydantic import BaseModel, Field
except ImportError:
    sys.exit("this example needs FastAPI: pip install fastapi httpx uvicorn")

# Trained elsewhere as a rule. A loaded model is mapped from its file: workers share its memory.
path = Path(tempfile.mkdtemp()) / "model.safetensors"
TextClassifier(random_state=0).fit(*load_dataset("debian").texts("train", 5000)).save(path)
model = load(path)


class Request(BaseModel):
    """What is asked."""

    text: str = Field(max_length=100_000)
    k: int = Field(default=3, ge=1, le=100)


app = FastAPI()


@app.post("/suggest")
def suggest(request: Request) -> list[dict[str, object]]:
    """Return the best labels; threads of the server may predict with one model."""
    best = model.explain(request.text, k=request.k)
    return [{"label": why.label, "score": why.score, "words": [part.name for part in why.top(3)]}
            for why in best]  # fmt: skip


async def ask() -> None:
    """Send two requests without a server."""
    transport = httpx.ASGITransport(app=app)
    async with httpx.AsyncClient(transport=transport, base_url="http://here") as client:
        found = await client.post("/suggest", json={"text": "a python module to parse xml"})
        for answer in found.json():
            print(f"{answer['score']:.2f}  {answer['label']}: {', '.join(answer['words'])}")
        refused = await client.post("/suggest", json={"text": "a", "k": 1000})
        print("a k of 1,000 is refused with status", refused.status_code)


if __name__ == "__main__":
    asyncio.run(ask())
