from http import HTTPStatus
from typing import Any, cast
from urllib.parse import quote

import httpx

from ... import errors
from ...client import AuthenticatedClient, Client
from ...models.application_membership import ApplicationMembership
from ...models.limited_problem import LimitedProblem
from ...models.problem import Problem
from ...types import UNSET, Response, Unset


def _get_kwargs(
    org: str,
    prj: str,
    app: str,
    username: str,
    *,
    if_none_match: str | Unset = UNSET,
) -> dict[str, Any]:
    headers: dict[str, Any] = {}
    if not isinstance(if_none_match, Unset):
        headers["If-None-Match"] = if_none_match

    _kwargs: dict[str, Any] = {
        "method": "get",
        "url": "/api/o/{org}/p/{prj}/a/{app}/m/{username}/".format(
            org=quote(str(org), safe=""),
            prj=quote(str(prj), safe=""),
            app=quote(str(app), safe=""),
            username=quote(str(username), safe=""),
        ),
    }

    _kwargs["headers"] = headers
    return _kwargs


def _parse_response(
    *, client: AuthenticatedClient | Client, response: httpx.Response
) -> Any | ApplicationMembership | LimitedProblem | Problem | None:
    if response.status_code == 200:
        response_200 = ApplicationMembership.from_dict(response.json())

        return response_200

    if response.status_code == 304:
        response_304 = cast(Any, None)
        return response_304

    if response.status_code == 401:
        response_401 = Problem.from_dict(response.json())

        return response_401

    if response.status_code == 403:
        response_403 = Problem.from_dict(response.json())

        return response_403

    if response.status_code == 404:
        response_404 = Problem.from_dict(response.json())

        return response_404

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
) -> Response[Any | ApplicationMembership | LimitedProblem | Problem]:
    return Response(
        status_code=HTTPStatus(response.status_code),
        content=response.content,
        headers=response.headers,
        parsed=_parse_response(client=client, response=response),
    )


def sync_detailed(
    org: str,
    prj: str,
    app: str,
    username: str,
    *,
    client: AuthenticatedClient,
    if_none_match: str | Unset = UNSET,
) -> Response[Any | ApplicationMembership | LimitedProblem | Problem]:
    """Show what an application records about a user

     Also for a user of the organization who is not registered with the application: `registered` is
    false, and `locked` says whether a lock remains.

    Args:
        org (str):
        prj (str):
        app (str):
        username (str):
        if_none_match (str | Unset):

    Raises:
        errors.UnexpectedStatus: If the server returns an undocumented status code and Client.raise_on_unexpected_status is True.
        httpx.TimeoutException: If the request takes longer than Client.timeout.

    Returns:
        Response[Any | ApplicationMembership | LimitedProblem | Problem]
    """

    kwargs = _get_kwargs(
        org=org,
        prj=prj,
        app=app,
        username=username,
        if_none_match=if_none_match,
    )

    response = client.get_httpx_client().request(
        **kwargs,
    )

    return _build_response(client=client, response=response)


def sync(
    org: str,
    prj: str,
    app: str,
    username: str,
    *,
    client: AuthenticatedClient,
    if_none_match: str | Unset = UNSET,
) -> Any | ApplicationMembership | LimitedProblem | Problem | None:
    """Show what an application records about a user

     Also for a user of the organization who is not registered with the application: `registered` is
    false, and `locked` says whether a lock remains.

    Args:
        org (str):
        prj (str):
        app (str):
        username (str):
        if_none_match (str | Unset):

    Raises:
        errors.UnexpectedStatus: If the server returns an undocumented status code and Client.raise_on_unexpected_status is True.
        httpx.TimeoutException: If the request takes longer than Client.timeout.

    Returns:
        Any | ApplicationMembership | LimitedProblem | Problem
    """

    return sync_detailed(
        org=org,
        prj=prj,
        app=app,
        username=username,
        client=client,
        if_none_match=if_none_match,
    ).parsed


async def asyncio_detailed(
    org: str,
    prj: str,
    app: str,
    username: str,
    *,
    client: AuthenticatedClient,
    if_none_match: str | Unset = UNSET,
) -> Response[Any | ApplicationMembership | LimitedProblem | Problem]:
    """Show what an application records about a user

     Also for a user of the organization who is not registered with the application: `registered` is
    false, and `locked` says whether a lock remains.

    Args:
        org (str):
        prj (str):
        app (str):
        username (str):
        if_none_match (str | Unset):

    Raises:
        errors.UnexpectedStatus: If the server returns an undocumented status code and Client.raise_on_unexpected_status is True.
        httpx.TimeoutException: If the request takes longer than Client.timeout.

    Returns:
        Response[Any | ApplicationMembership | LimitedProblem | Problem]
    """

    kwargs = _get_kwargs(
        org=org,
        prj=prj,
        app=app,
        username=username,
        if_none_match=if_none_match,
    )

    response = await client.get_async_httpx_client().request(**kwargs)

    return _build_response(client=client, response=response)


async def asyncio(
    org: str,
    prj: str,
    app: str,
    username: str,
    *,
    client: AuthenticatedClient,
    if_none_match: str | Unset = UNSET,
) -> Any | ApplicationMembership | LimitedProblem | Problem | None:
    """Show what an application records about a user

     Also for a user of the organization who is not registered with the application: `registered` is
    false, and `locked` says whether a lock remains.

    Args:
        org (str):
        prj (str):
        app (str):
        username (str):
        if_none_match (str | Unset):

    Raises:
        errors.UnexpectedStatus: If the server returns an undocumented status code and Client.raise_on_unexpected_status is True.
        httpx.TimeoutException: If the request takes longer than Client.timeout.

    Returns:
        Any | ApplicationMembership | LimitedProblem | Problem
    """

    return (
        await asyncio_detailed(
            org=org,
            prj=prj,
            app=app,
            username=username,
            client=client,
            if_none_match=if_none_match,
        )
    ).parsed
