"""Requests to an application without a socket."""

import asyncio

import httpx


def connected(app):
    """Return a client of an application, for several requests at once."""
    return httpx.AsyncClient(transport=httpx.ASGITransport(app=app), base_url="http://test")


def together(app, *bodies, path="/v1/suggest"):
    """Return the answers to requests that are sent at the same time."""

    async def run():
        async with connected(app) as client:
            return await asyncio.gather(*(client.post(path, json=body) for body in bodies))

    return asyncio.run(run())


class Client:
    """Requests, one after another."""

    def __init__(self, app):
        self._app = app

    def request(self, method, path, **options):
        """Return the answer; its status is one that the OpenAPI document lists for the route."""

        async def run():
            async with connected(self._app) as client:
                document = (await client.get("/openapi.json")).json()
                return document, await client.request(method, path, **options)

        document, answer = asyncio.run(run())
        operation = document["paths"].get(path, {}).get(method.lower())
        if operation is not None:
            assert str(answer.status_code) in operation["responses"], answer.text
        return answer

    def get(self, path, **options):
        return self.request("GET", path, **options)

    def post(self, path, **options):
        return self.request("POST", path, **options)

    def ask(self, path, body, status=200):
        """Post JSON, and return that of the answer, which has a status."""
        answer = self.post(path, json=body)
        assert answer.status_code == status, answer.text
        return answer.json()
