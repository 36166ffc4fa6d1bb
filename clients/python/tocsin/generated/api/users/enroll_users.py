from http import HTTPStatus
from typing import Any
from urllib.parse import quote

import httpx

from ... import errors
from ...client import AuthenticatedClient, Client
from ...models.bulk_enrollment import BulkEnrollment
from ...models.bulk_enrollment_input import BulkEnrollmentInput
from ...models.invalid_problem import InvalidProblem
from ...models.limited_problem import LimitedProblem
from ...models.problem import Problem
from ...types import UNSET, Response, Unset


def _get_kwargs(
    org: str,
    *,
    body: BulkEnrollmentInput,
    idempotency_key: str | Unset = UNSET,
) -> dict[str, Any]:
    headers: dict[str, Any] = {}
    if not isinstance(idempotency_key, Unset):
        headers["Idempotency-Key"] = idempotency_key

    _kwargs: dict[str, Any] = {
        "method": "post",
        "url": "/api/v1/user/{org}/bulk/".format(
            org=quote(str(org), safe=""),
        ),
    }

    _kwargs["json"] = body.to_dict()

    headers["Content-Type"] = "application/json"

    _kwargs["headers"] = headers
    return _kwargs


def _parse_response(
    *, client: AuthenticatedClient | Client, response: httpx.Response
) -> BulkEnrollment | InvalidProblem | LimitedProblem | Problem | None:
    if response.status_code == 200:
        response_200 = BulkEnrollment.from_dict(response.json())

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
) -> Response[BulkEnrollment | InvalidProblem | LimitedProblem | Problem]:
    return Response(
        status_code=HTTPStatus(response.status_code),
        content=response.content,
        headers=response.headers,
        parsed=_parse_response(client=client, response=response),
    )


def sync_detailed(
    org: str,
    *,
    client: AuthenticatedClient,
    body: BulkEnrollmentInput,
    idempotency_key: str | Unset = UNSET,
) -> Response[BulkEnrollment | InvalidProblem | LimitedProblem | Problem]:
    """Create or enroll many users

     Does for each of up to 1,000 users what `POST` of a single one does, in one unit of work, and
    answers for each in the order of the
    request: `status` is what the single call would have answered, with the user for 200 and 201 and the
    problem for 400. A user that
    is refused does not keep the others from being enrolled. Of several entries with one e-mail address
    the first counts.

    The whole call is `400` when the body is not JSON, names no users or too many, or when its users
    have more than 2 MiB of metadata
    together; then no user is enrolled.

    Args:
        org (str):
        idempotency_key (str | Unset):
        body (BulkEnrollmentInput):

    Raises:
        errors.UnexpectedStatus: If the server returns an undocumented status code and Client.raise_on_unexpected_status is True.
        httpx.TimeoutException: If the request takes longer than Client.timeout.

    Returns:
        Response[BulkEnrollment | InvalidProblem | LimitedProblem | Problem]
    """

    kwargs = _get_kwargs(
        org=org,
        body=body,
        idempotency_key=idempotency_key,
    )

    response = client.get_httpx_client().request(
        **kwargs,
    )

    return _build_response(client=client, response=response)


def sync(
    org: str,
    *,
    client: AuthenticatedClient,
    body: BulkEnrollmentInput,
    idempotency_key: str | Unset = UNSET,
) -> BulkEnrollment | InvalidProblem | LimitedProblem | Problem | None:
    """Create or enroll many users

     Does for each of up to 1,000 users what `POST` of a single one does, in one unit of work, and
    answers for each in the order of the
    request: `status` is what the single call would have answered, with the user for 200 and 201 and the
    problem for 400. A user that
    is refused does not keep the others from being enrolled. Of several entries with one e-mail address
    the first counts.

    The whole call is `400` when the body is not JSON, names no users or too many, or when its users
    have more than 2 MiB of metadata
    together; then no user is enrolled.

    Args:
        org (str):
        idempotency_key (str | Unset):
        body (BulkEnrollmentInput):

    Raises:
        errors.UnexpectedStatus: If the server returns an undocumented status code and Client.raise_on_unexpected_status is True.
        httpx.TimeoutException: If the request takes longer than Client.timeout.

    Returns:
        BulkEnrollment | InvalidProblem | LimitedProblem | Problem
    """

    return sync_detailed(
        org=org,
        client=client,
        body=body,
        idempotency_key=idempotency_key,
    ).parsed


async def asyncio_detailed(
    org: str,
    *,
    client: AuthenticatedClient,
    body: BulkEnrollmentInput,
    idempotency_key: str | Unset = UNSET,
) -> Response[BulkEnrollment | InvalidProblem | LimitedProblem | Problem]:
    """Create or enroll many users

     Does for each of up to 1,000 users what `POST` of a single one does, in one unit of work, and
    answers for each in the order of the
    request: `status` is what the single call would have answered, with the user for 200 and 201 and the
    problem for 400. A user that
    is refused does not keep the others from being enrolled. Of several entries with one e-mail address
    the first counts.

    The whole call is `400` when the body is not JSON, names no users or too many, or when its users
    have more than 2 MiB of metadata
    together; then no user is enrolled.

    Args:
        org (str):
        idempotency_key (str | Unset):
        body (BulkEnrollmentInput):

    Raises:
        errors.UnexpectedStatus: If the server returns an undocumented status code and Client.raise_on_unexpected_status is True.
        httpx.TimeoutException: If the request takes longer than Client.timeout.

    Returns:
        Response[BulkEnrollment | InvalidProblem | LimitedProblem | Problem]
    """

    kwargs = _get_kwargs(
        org=org,
        body=body,
        idempotency_key=idempotency_key,
    )

    response = await client.get_async_httpx_client().request(**kwargs)

    return _build_response(client=client, response=response)


async def asyncio(
    org: str,
    *,
    client: AuthenticatedClient,
    body: BulkEnrollmentInput,
    idempotency_key: str | Unset = UNSET,
) -> BulkEnrollment | InvalidProblem | LimitedProblem | Problem | None:
    """Create or enroll many users

     Does for each of up to 1,000 users what `POST` of a single one does, in one unit of work, and
    answers for each in the order of the
    request: `status` is what the single call would have answered, with the user for 200 and 201 and the
    problem for 400. A user that
    is refused does not keep the others from being enrolled. Of several entries with one e-mail address
    the first counts.

    The whole call is `400` when the body is not JSON, names no users or too many, or when its users
    have more than 2 MiB of metadata
    together; then no user is enrolled.

    Args:
        org (str):
        idempotency_key (str | Unset):
        body (BulkEnrollmentInput):

    Raises:
        errors.UnexpectedStatus: If the server returns an undocumented status code and Client.raise_on_unexpected_status is True.
        httpx.TimeoutException: If the request takes longer than Client.timeout.

    Returns:
        BulkEnrollment | InvalidProblem | LimitedProblem | Problem
    """

    return (
        await asyncio_detailed(
            org=org,
            client=client,
            body=body,
            idempotency_key=idempotency_key,
        )
    ).parsed
