from http import HTTPStatus
from typing import Any
from urllib.parse import quote

import httpx

from ... import errors
from ...client import AuthenticatedClient, Client
from ...models.invalid_problem import InvalidProblem
from ...models.limited_problem import LimitedProblem
from ...models.partial import Partial
from ...models.partial_input import PartialInput
from ...models.problem import Problem
from ...types import UNSET, Response, Unset


def _get_kwargs(
    org: str,
    name: str,
    *,
    body: PartialInput,
    if_match: str | Unset = UNSET,
) -> dict[str, Any]:
    headers: dict[str, Any] = {}
    if not isinstance(if_match, Unset):
        headers["If-Match"] = if_match

    _kwargs: dict[str, Any] = {
        "method": "put",
        "url": "/api/o/{org}/partials/{name}/".format(
            org=quote(str(org), safe=""),
            name=quote(str(name), safe=""),
        ),
    }

    _kwargs["json"] = body.to_dict()

    headers["Content-Type"] = "application/json"

    _kwargs["headers"] = headers
    return _kwargs


def _parse_response(
    *, client: AuthenticatedClient | Client, response: httpx.Response
) -> InvalidProblem | LimitedProblem | Partial | Problem | None:
    if response.status_code == 200:
        response_200 = Partial.from_dict(response.json())

        return response_200

    if response.status_code == 400:
        response_400 = InvalidProblem.from_dict(response.json())

        return response_400

    if response.status_code == 401:
        response_401 = Problem.from_dict(response.json())

        return response_401

    if response.status_code == 403:
        response_403 = Problem.from_dict(response.json())

        return response_403

    if response.status_code == 404:
        response_404 = Problem.from_dict(response.json())

        return response_404

    if response.status_code == 412:
        response_412 = Problem.from_dict(response.json())

        return response_412

    if response.status_code == 413:
        response_413 = LimitedProblem.from_dict(response.json())

        return response_413

    if response.status_code == 415:
        response_415 = Problem.from_dict(response.json())

        return response_415

    if response.status_code == 429:
        response_429 = LimitedProblem.from_dict(response.json())

        return response_429

    if response.status_code == 500:
        response_500 = Problem.from_dict(response.json())

        return response_500

    if response.status_code == 503:
        response_503 = Problem.from_dict(response.json())

        return response_503

    if client.raise_on_unexpected_status:
        raise errors.UnexpectedStatus(response.status_code, response.content)
    else:
        return None


def _build_response(
    *, client: AuthenticatedClient | Client, response: httpx.Response
) -> Response[InvalidProblem | LimitedProblem | Partial | Problem]:
    return Response(
        status_code=HTTPStatus(response.status_code),
        content=response.content,
        headers=response.headers,
        parsed=_parse_response(client=client, response=response),
    )


def sync_detailed(
    org: str,
    name: str,
    *,
    client: AuthenticatedClient,
    body: PartialInput,
    if_match: str | Unset = UNSET,
) -> Response[InvalidProblem | LimitedProblem | Partial | Problem]:
    """Write a partial

     Creates the partial, or makes a new version of it, which messages have from then on. It is refused
    with `400` when a template that
    uses the partial could not be rendered any more. With `version` the partial is written only while
    that is the current version, else
    the answer is `412`; 0 stands for none. `If-Match` with the ETag of GET says the same in another
    way.

    Args:
        org (str):
        name (str):
        if_match (str | Unset):
        body (PartialInput):

    Raises:
        errors.UnexpectedStatus: If the server returns an undocumented status code and Client.raise_on_unexpected_status is True.
        httpx.TimeoutException: If the request takes longer than Client.timeout.

    Returns:
        Response[InvalidProblem | LimitedProblem | Partial | Problem]
    """

    kwargs = _get_kwargs(
        org=org,
        name=name,
        body=body,
        if_match=if_match,
    )

    response = client.get_httpx_client().request(
        **kwargs,
    )

    return _build_response(client=client, response=response)


def sync(
    org: str,
    name: str,
    *,
    client: AuthenticatedClient,
    body: PartialInput,
    if_match: str | Unset = UNSET,
) -> InvalidProblem | LimitedProblem | Partial | Problem | None:
    """Write a partial

     Creates the partial, or makes a new version of it, which messages have from then on. It is refused
    with `400` when a template that
    uses the partial could not be rendered any more. With `version` the partial is written only while
    that is the current version, else
    the answer is `412`; 0 stands for none. `If-Match` with the ETag of GET says the same in another
    way.

    Args:
        org (str):
        name (str):
        if_match (str | Unset):
        body (PartialInput):

    Raises:
        errors.UnexpectedStatus: If the server returns an undocumented status code and Client.raise_on_unexpected_status is True.
        httpx.TimeoutException: If the request takes longer than Client.timeout.

    Returns:
        InvalidProblem | LimitedProblem | Partial | Problem
    """

    return sync_detailed(
        org=org,
        name=name,
        client=client,
        body=body,
        if_match=if_match,
    ).parsed


async def asyncio_detailed(
    org: str,
    name: str,
    *,
    client: AuthenticatedClient,
    body: PartialInput,
    if_match: str | Unset = UNSET,
) -> Response[InvalidProblem | LimitedProblem | Partial | Problem]:
    """Write a partial

     Creates the partial, or makes a new version of it, which messages have from then on. It is refused
    with `400` when a template that
    uses the partial could not be rendered any more. With `version` the partial is written only while
    that is the current version, else
    the answer is `412`; 0 stands for none. `If-Match` with the ETag of GET says the same in another
    way.

    Args:
        org (str):
        name (str):
        if_match (str | Unset):
        body (PartialInput):

    Raises:
        errors.UnexpectedStatus: If the server returns an undocumented status code and Client.raise_on_unexpected_status is True.
        httpx.TimeoutException: If the request takes longer than Client.timeout.

    Returns:
        Response[InvalidProblem | LimitedProblem | Partial | Problem]
    """

    kwargs = _get_kwargs(
        org=org,
        name=name,
        body=body,
        if_match=if_match,
    )

    response = await client.get_async_httpx_client().request(**kwargs)

    return _build_response(client=client, response=response)


async def asyncio(
    org: str,
    name: str,
    *,
    client: AuthenticatedClient,
    body: PartialInput,
    if_match: str | Unset = UNSET,
) -> InvalidProblem | LimitedProblem | Partial | Problem | None:
    """Write a partial

     Creates the partial, or makes a new version of it, which messages have from then on. It is refused
    with `400` when a template that
    uses the partial could not be rendered any more. With `version` the partial is written only while
    that is the current version, else
    the answer is `412`; 0 stands for none. `If-Match` with the ETag of GET says the same in another
    way.

    Args:
        org (str):
        name (str):
        if_match (str | Unset):
        body (PartialInput):

    Raises:
        errors.UnexpectedStatus: If the server returns an undocumented status code and Client.raise_on_unexpected_status is True.
        httpx.TimeoutException: If the request takes longer than Client.timeout.

    Returns:
        InvalidProblem | LimitedProblem | Partial | Problem
    """

    return (
        await asyncio_detailed(
            org=org,
            name=name,
            client=client,
            body=body,
            if_match=if_match,
        )
    ).parsed
