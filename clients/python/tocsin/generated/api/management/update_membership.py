from http import HTTPStatus
from typing import Any
from urllib.parse import quote

import httpx

from ... import errors
from ...client import AuthenticatedClient, Client
from ...models.application_membership import ApplicationMembership
from ...models.invalid_problem import InvalidProblem
from ...models.limited_problem import LimitedProblem
from ...models.membership_patch import MembershipPatch
from ...models.problem import Problem
from ...types import UNSET, Response, Unset


def _get_kwargs(
    org: str,
    prj: str,
    app: str,
    username: str,
    *,
    body: MembershipPatch,
    if_match: str | Unset = UNSET,
) -> dict[str, Any]:
    headers: dict[str, Any] = {}
    if not isinstance(if_match, Unset):
        headers["If-Match"] = if_match

    _kwargs: dict[str, Any] = {
        "method": "patch",
        "url": "/api/o/{org}/p/{prj}/a/{app}/m/{username}/".format(
            org=quote(str(org), safe=""),
            prj=quote(str(prj), safe=""),
            app=quote(str(app), safe=""),
            username=quote(str(username), safe=""),
        ),
    }

    _kwargs["json"] = body.to_dict()

    headers["Content-Type"] = "application/json"

    _kwargs["headers"] = headers
    return _kwargs


def _parse_response(
    *, client: AuthenticatedClient | Client, response: httpx.Response
) -> ApplicationMembership | InvalidProblem | LimitedProblem | Problem | None:
    if response.status_code == 200:
        response_200 = ApplicationMembership.from_dict(response.json())

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
) -> Response[ApplicationMembership | InvalidProblem | LimitedProblem | Problem]:
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
    body: MembershipPatch,
    if_match: str | Unset = UNSET,
) -> Response[ApplicationMembership | InvalidProblem | LimitedProblem | Problem]:
    """Lock a user in an application, or switch notifications

     Who is locked, or has no notifications enabled, gets no message of the application. A lock can be
    set before the user registers, and outlives
    the registration; notifications are switched of who is registered alone, else `404`. What is not
    sent, or `null`, stays as it is. Whoever has
    a role in the console of the organization is left to people: `403`.

    Args:
        org (str):
        prj (str):
        app (str):
        username (str):
        if_match (str | Unset):
        body (MembershipPatch):

    Raises:
        errors.UnexpectedStatus: If the server returns an undocumented status code and Client.raise_on_unexpected_status is True.
        httpx.TimeoutException: If the request takes longer than Client.timeout.

    Returns:
        Response[ApplicationMembership | InvalidProblem | LimitedProblem | Problem]
    """

    kwargs = _get_kwargs(
        org=org,
        prj=prj,
        app=app,
        username=username,
        body=body,
        if_match=if_match,
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
    body: MembershipPatch,
    if_match: str | Unset = UNSET,
) -> ApplicationMembership | InvalidProblem | LimitedProblem | Problem | None:
    """Lock a user in an application, or switch notifications

     Who is locked, or has no notifications enabled, gets no message of the application. A lock can be
    set before the user registers, and outlives
    the registration; notifications are switched of who is registered alone, else `404`. What is not
    sent, or `null`, stays as it is. Whoever has
    a role in the console of the organization is left to people: `403`.

    Args:
        org (str):
        prj (str):
        app (str):
        username (str):
        if_match (str | Unset):
        body (MembershipPatch):

    Raises:
        errors.UnexpectedStatus: If the server returns an undocumented status code and Client.raise_on_unexpected_status is True.
        httpx.TimeoutException: If the request takes longer than Client.timeout.

    Returns:
        ApplicationMembership | InvalidProblem | LimitedProblem | Problem
    """

    return sync_detailed(
        org=org,
        prj=prj,
        app=app,
        username=username,
        client=client,
        body=body,
        if_match=if_match,
    ).parsed


async def asyncio_detailed(
    org: str,
    prj: str,
    app: str,
    username: str,
    *,
    client: AuthenticatedClient,
    body: MembershipPatch,
    if_match: str | Unset = UNSET,
) -> Response[ApplicationMembership | InvalidProblem | LimitedProblem | Problem]:
    """Lock a user in an application, or switch notifications

     Who is locked, or has no notifications enabled, gets no message of the application. A lock can be
    set before the user registers, and outlives
    the registration; notifications are switched of who is registered alone, else `404`. What is not
    sent, or `null`, stays as it is. Whoever has
    a role in the console of the organization is left to people: `403`.

    Args:
        org (str):
        prj (str):
        app (str):
        username (str):
        if_match (str | Unset):
        body (MembershipPatch):

    Raises:
        errors.UnexpectedStatus: If the server returns an undocumented status code and Client.raise_on_unexpected_status is True.
        httpx.TimeoutException: If the request takes longer than Client.timeout.

    Returns:
        Response[ApplicationMembership | InvalidProblem | LimitedProblem | Problem]
    """

    kwargs = _get_kwargs(
        org=org,
        prj=prj,
        app=app,
        username=username,
        body=body,
        if_match=if_match,
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
    body: MembershipPatch,
    if_match: str | Unset = UNSET,
) -> ApplicationMembership | InvalidProblem | LimitedProblem | Problem | None:
    """Lock a user in an application, or switch notifications

     Who is locked, or has no notifications enabled, gets no message of the application. A lock can be
    set before the user registers, and outlives
    the registration; notifications are switched of who is registered alone, else `404`. What is not
    sent, or `null`, stays as it is. Whoever has
    a role in the console of the organization is left to people: `403`.

    Args:
        org (str):
        prj (str):
        app (str):
        username (str):
        if_match (str | Unset):
        body (MembershipPatch):

    Raises:
        errors.UnexpectedStatus: If the server returns an undocumented status code and Client.raise_on_unexpected_status is True.
        httpx.TimeoutException: If the request takes longer than Client.timeout.

    Returns:
        ApplicationMembership | InvalidProblem | LimitedProblem | Problem
    """

    return (
        await asyncio_detailed(
            org=org,
            prj=prj,
            app=app,
            username=username,
            client=client,
            body=body,
            if_match=if_match,
        )
    ).parsed
