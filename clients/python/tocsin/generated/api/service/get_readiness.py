from http import HTTPStatus
from typing import Any

import httpx

from ... import errors
from ...client import AuthenticatedClient, Client
from ...models.health import Health
from ...models.not_ready_problem import NotReadyProblem
from ...models.problem import Problem
from ...models.readiness import Readiness
from ...types import UNSET, Response, Unset


def _get_kwargs(
    *,
    verbose: str | Unset = UNSET,
) -> dict[str, Any]:
    params: dict[str, Any] = {}

    params["verbose"] = verbose

    params = {k: v for k, v in params.items() if v is not UNSET and v is not None}

    _kwargs: dict[str, Any] = {
        "method": "get",
        "url": "/readyz",
        "params": params,
    }

    return _kwargs


def _parse_response(
    *, client: AuthenticatedClient | Client, response: httpx.Response
) -> Health | Readiness | NotReadyProblem | Problem | None:
    if response.status_code == 200:

        def _parse_response_200(data: object) -> Health | Readiness:
            try:
                if not isinstance(data, dict):
                    raise TypeError()
                response_200_type_0 = Health.from_dict(data)

                return response_200_type_0
            except (TypeError, ValueError, AttributeError, KeyError):
                pass
            if not isinstance(data, dict):
                raise TypeError()
            response_200_type_1 = Readiness.from_dict(data)

            return response_200_type_1

        response_200 = _parse_response_200(response.json())

        return response_200

    if response.status_code == 503:

        def _parse_response_503(data: object) -> NotReadyProblem | Problem:
            try:
                if not isinstance(data, dict):
                    raise TypeError()
                response_503_type_0 = Problem.from_dict(data)

                return response_503_type_0
            except (TypeError, ValueError, AttributeError, KeyError):
                pass
            if not isinstance(data, dict):
                raise TypeError()
            response_503_type_1 = NotReadyProblem.from_dict(data)

            return response_503_type_1

        response_503 = _parse_response_503(response.json())

        return response_503

    if client.raise_on_unexpected_status:
        raise errors.UnexpectedStatus(response.status_code, response.content)
    else:
        return None


def _build_response(
    *, client: AuthenticatedClient | Client, response: httpx.Response
) -> Response[Health | Readiness | NotReadyProblem | Problem]:
    return Response(
        status_code=HTTPStatus(response.status_code),
        content=response.content,
        headers=response.headers,
        parsed=_parse_response(client=client, response=response),
    )


def sync_detailed(
    *,
    client: AuthenticatedClient | Client,
    verbose: str | Unset = UNSET,
) -> Response[Health | Readiness | NotReadyProblem | Problem]:
    """Can the service take requests?

     Checks that the database answers within 2 seconds, that its schema is current, that it takes writes,
    that what works in the background does
    so, and that the service is not shutting down. With `verbose` the answer lists the checks; one that
    fails says why, without secrets.

    Args:
        verbose (str | Unset):

    Raises:
        errors.UnexpectedStatus: If the server returns an undocumented status code and Client.raise_on_unexpected_status is True.
        httpx.TimeoutException: If the request takes longer than Client.timeout.

    Returns:
        Response[Health | Readiness | NotReadyProblem | Problem]
    """

    kwargs = _get_kwargs(
        verbose=verbose,
    )

    response = client.get_httpx_client().request(
        **kwargs,
    )

    return _build_response(client=client, response=response)


def sync(
    *,
    client: AuthenticatedClient | Client,
    verbose: str | Unset = UNSET,
) -> Health | Readiness | NotReadyProblem | Problem | None:
    """Can the service take requests?

     Checks that the database answers within 2 seconds, that its schema is current, that it takes writes,
    that what works in the background does
    so, and that the service is not shutting down. With `verbose` the answer lists the checks; one that
    fails says why, without secrets.

    Args:
        verbose (str | Unset):

    Raises:
        errors.UnexpectedStatus: If the server returns an undocumented status code and Client.raise_on_unexpected_status is True.
        httpx.TimeoutException: If the request takes longer than Client.timeout.

    Returns:
        Health | Readiness | NotReadyProblem | Problem
    """

    return sync_detailed(
        client=client,
        verbose=verbose,
    ).parsed


async def asyncio_detailed(
    *,
    client: AuthenticatedClient | Client,
    verbose: str | Unset = UNSET,
) -> Response[Health | Readiness | NotReadyProblem | Problem]:
    """Can the service take requests?

     Checks that the database answers within 2 seconds, that its schema is current, that it takes writes,
    that what works in the background does
    so, and that the service is not shutting down. With `verbose` the answer lists the checks; one that
    fails says why, without secrets.

    Args:
        verbose (str | Unset):

    Raises:
        errors.UnexpectedStatus: If the server returns an undocumented status code and Client.raise_on_unexpected_status is True.
        httpx.TimeoutException: If the request takes longer than Client.timeout.

    Returns:
        Response[Health | Readiness | NotReadyProblem | Problem]
    """

    kwargs = _get_kwargs(
        verbose=verbose,
    )

    response = await client.get_async_httpx_client().request(**kwargs)

    return _build_response(client=client, response=response)


async def asyncio(
    *,
    client: AuthenticatedClient | Client,
    verbose: str | Unset = UNSET,
) -> Health | Readiness | NotReadyProblem | Problem | None:
    """Can the service take requests?

     Checks that the database answers within 2 seconds, that its schema is current, that it takes writes,
    that what works in the background does
    so, and that the service is not shutting down. With `verbose` the answer lists the checks; one that
    fails says why, without secrets.

    Args:
        verbose (str | Unset):

    Raises:
        errors.UnexpectedStatus: If the server returns an undocumented status code and Client.raise_on_unexpected_status is True.
        httpx.TimeoutException: If the request takes longer than Client.timeout.

    Returns:
        Health | Readiness | NotReadyProblem | Problem
    """

    return (
        await asyncio_detailed(
            client=client,
            verbose=verbose,
        )
    ).parsed
