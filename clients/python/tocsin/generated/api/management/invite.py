from http import HTTPStatus
from typing import Any
from urllib.parse import quote

import httpx

from ... import errors
from ...client import AuthenticatedClient, Client
from ...models.invalid_problem import InvalidProblem
from ...models.invitation import Invitation
from ...models.invitation_input import InvitationInput
from ...models.limited_problem import LimitedProblem
from ...models.problem import Problem
from ...types import UNSET, Response, Unset


def _get_kwargs(
    org: str,
    username: str,
    *,
    body: InvitationInput | Unset = UNSET,
    idempotency_key: str | Unset = UNSET,
) -> dict[str, Any]:
    headers: dict[str, Any] = {}
    if not isinstance(idempotency_key, Unset):
        headers["Idempotency-Key"] = idempotency_key

    _kwargs: dict[str, Any] = {
        "method": "post",
        "url": "/api/o/{org}/r/{username}/invite/".format(
            org=quote(str(org), safe=""),
            username=quote(str(username), safe=""),
        ),
    }

    if not isinstance(body, Unset):
        _kwargs["json"] = body.to_dict()

    headers["Content-Type"] = "application/json"

    _kwargs["headers"] = headers
    return _kwargs


def _parse_response(
    *, client: AuthenticatedClient | Client, response: httpx.Response
) -> InvalidProblem | Invitation | LimitedProblem | Problem | None:
    if response.status_code == 201:
        response_201 = Invitation.from_dict(response.json())

        return response_201

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

    if response.status_code == 409:
        response_409 = Problem.from_dict(response.json())

        return response_409

    if response.status_code == 413:
        response_413 = LimitedProblem.from_dict(response.json())

        return response_413

    if response.status_code == 415:
        response_415 = Problem.from_dict(response.json())

        return response_415

    if response.status_code == 422:
        response_422 = Problem.from_dict(response.json())

        return response_422

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
) -> Response[InvalidProblem | Invitation | LimitedProblem | Problem]:
    return Response(
        status_code=HTTPStatus(response.status_code),
        content=response.content,
        headers=response.headers,
        parsed=_parse_response(client=client, response=response),
    )


def sync_detailed(
    org: str,
    username: str,
    *,
    client: AuthenticatedClient,
    body: InvitationInput | Unset = UNSET,
    idempotency_key: str | Unset = UNSET,
) -> Response[InvalidProblem | Invitation | LimitedProblem | Problem]:
    """Make a link by which a user accepts the role

     Whoever opens it chooses a password for this organization, or adds it to the account that they are
    signed in to. It works once and for 24 hours, and ends
    the link that was made before. Hand it only to the user: anyone who has it can use it. It is shown
    only once; a repetition with
    the same `Idempotency-Key` is answered `409`.

    Args:
        org (str):
        username (str):
        idempotency_key (str | Unset):
        body (InvitationInput | Unset):

    Raises:
        errors.UnexpectedStatus: If the server returns an undocumented status code and Client.raise_on_unexpected_status is True.
        httpx.TimeoutException: If the request takes longer than Client.timeout.

    Returns:
        Response[InvalidProblem | Invitation | LimitedProblem | Problem]
    """

    kwargs = _get_kwargs(
        org=org,
        username=username,
        body=body,
        idempotency_key=idempotency_key,
    )

    response = client.get_httpx_client().request(
        **kwargs,
    )

    return _build_response(client=client, response=response)


def sync(
    org: str,
    username: str,
    *,
    client: AuthenticatedClient,
    body: InvitationInput | Unset = UNSET,
    idempotency_key: str | Unset = UNSET,
) -> InvalidProblem | Invitation | LimitedProblem | Problem | None:
    """Make a link by which a user accepts the role

     Whoever opens it chooses a password for this organization, or adds it to the account that they are
    signed in to. It works once and for 24 hours, and ends
    the link that was made before. Hand it only to the user: anyone who has it can use it. It is shown
    only once; a repetition with
    the same `Idempotency-Key` is answered `409`.

    Args:
        org (str):
        username (str):
        idempotency_key (str | Unset):
        body (InvitationInput | Unset):

    Raises:
        errors.UnexpectedStatus: If the server returns an undocumented status code and Client.raise_on_unexpected_status is True.
        httpx.TimeoutException: If the request takes longer than Client.timeout.

    Returns:
        InvalidProblem | Invitation | LimitedProblem | Problem
    """

    return sync_detailed(
        org=org,
        username=username,
        client=client,
        body=body,
        idempotency_key=idempotency_key,
    ).parsed


async def asyncio_detailed(
    org: str,
    username: str,
    *,
    client: AuthenticatedClient,
    body: InvitationInput | Unset = UNSET,
    idempotency_key: str | Unset = UNSET,
) -> Response[InvalidProblem | Invitation | LimitedProblem | Problem]:
    """Make a link by which a user accepts the role

     Whoever opens it chooses a password for this organization, or adds it to the account that they are
    signed in to. It works once and for 24 hours, and ends
    the link that was made before. Hand it only to the user: anyone who has it can use it. It is shown
    only once; a repetition with
    the same `Idempotency-Key` is answered `409`.

    Args:
        org (str):
        username (str):
        idempotency_key (str | Unset):
        body (InvitationInput | Unset):

    Raises:
        errors.UnexpectedStatus: If the server returns an undocumented status code and Client.raise_on_unexpected_status is True.
        httpx.TimeoutException: If the request takes longer than Client.timeout.

    Returns:
        Response[InvalidProblem | Invitation | LimitedProblem | Problem]
    """

    kwargs = _get_kwargs(
        org=org,
        username=username,
        body=body,
        idempotency_key=idempotency_key,
    )

    response = await client.get_async_httpx_client().request(**kwargs)

    return _build_response(client=client, response=response)


async def asyncio(
    org: str,
    username: str,
    *,
    client: AuthenticatedClient,
    body: InvitationInput | Unset = UNSET,
    idempotency_key: str | Unset = UNSET,
) -> InvalidProblem | Invitation | LimitedProblem | Problem | None:
    """Make a link by which a user accepts the role

     Whoever opens it chooses a password for this organization, or adds it to the account that they are
    signed in to. It works once and for 24 hours, and ends
    the link that was made before. Hand it only to the user: anyone who has it can use it. It is shown
    only once; a repetition with
    the same `Idempotency-Key` is answered `409`.

    Args:
        org (str):
        username (str):
        idempotency_key (str | Unset):
        body (InvitationInput | Unset):

    Raises:
        errors.UnexpectedStatus: If the server returns an undocumented status code and Client.raise_on_unexpected_status is True.
        httpx.TimeoutException: If the request takes longer than Client.timeout.

    Returns:
        InvalidProblem | Invitation | LimitedProblem | Problem
    """

    return (
        await asyncio_detailed(
            org=org,
            username=username,
            client=client,
            body=body,
            idempotency_key=idempotency_key,
        )
    ).parsed
