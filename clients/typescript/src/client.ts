import { randomUUID } from "node:crypto";
import { setTimeout as pause } from "node:timers/promises";
import createClient, { type Client } from "openapi-fetch";
import { TocsinError, WaitError } from "./errors.js";
import type { components, paths } from "./schema.js";

/** The calls of the API, as openapi-fetch has them: `client.GET("/api/v1/user/{org}/", …)`. */
export type Tocsin = Client<paths, "application/json">;

/** How a client works. Times are in milliseconds. */
export interface Options {
  /** How often a call is repeated. 4 unless set. */
  retries?: number;
  /** The first pause between attempts; each further one is twice as long. 250 unless set. */
  firstPause?: number;
  /** The longest pause; a longer one that the service asks for is not waited for. 60,000 unless set. */
  longestPause?: number;
  /** How long one attempt may take. 30,000 unless set. */
  timeout?: number;
}

/**
 * Returns a client of the service at a URL, such as https://tocsin.example.org. A redirect and an answer of 400 or more are thrown as a
 * TocsinError.
 */
export function connect(url: string, key: string, options: Options = {}): Tocsin {
  if (!/^https?:\/\/./.test(url)) {
    throw new TypeError("the URL of the service must begin with http:// or https://");
  }
  if (key.trim() === "") {
    throw new TypeError("a key is required");
  }
  const settings = { retries: 4, firstPause: 250, longestPause: 60_000, timeout: 30_000, ...options };
  return createClient<paths, "application/json">({
    baseUrl: url,
    headers: { Authorization: `Key ${key.trim()}` },
    fetch: (request) => send(request, settings),
  });
}

/** The paths of the calls that send a real message each time, whatever their Idempotency-Key. */
const channelTest = /\/c\/[^/]+\/test\/$/;

/**
 * The paths of the calls that make no duplicates by themselves. Without an Idempotency-Key the service may do several of them together, and
 * keeps no answer.
 */
const enrollment = /\/v1\/user\/[^/]+\/(bulk\/)?$|\/a\/[^/]+\/register\/$/;

async function send(request: Request, settings: Required<Options>): Promise<Response> {
  const { pathname } = new URL(request.url);
  // All attempts of one call have the same key, so that the service does it once.
  if (request.method === "POST" && !request.headers.has("Idempotency-Key") && !enrollment.test(pathname)) {
    request.headers.set("Idempotency-Key", randomUUID());
  }
  const once = request.method === "POST" && channelTest.test(pathname);
  for (let attempt = 0; ; attempt++) {
    let failure: unknown;
    let wait = Math.min(settings.firstPause * 2 ** attempt, settings.longestPause) * (0.5 + Math.random() / 2);
    try {
      const signal = AbortSignal.any([request.signal, AbortSignal.timeout(settings.timeout)]);
      const response = await fetch(new Request(request.clone(), { signal, redirect: "manual" }));
      if (response.ok || response.status === 304) {
        return response;
      }
      failure = new TocsinError(response.status, response.headers, await response.text());
    } catch (error) {
      failure = error; // No connection, or none any more.
    }
    if (failure instanceof TocsinError) {
      if (!failure.temporary) {
        throw failure;
      }
      wait = Math.max(wait, failure.retryAfter);
    }
    // The service may have done a call whose answer is lost.
    const lost = !(failure instanceof TocsinError) || failure.status === 502 || failure.status === 504;
    if (attempt >= settings.retries || (once && lost) || wait > settings.longestPause || request.signal.aborted) {
      throw failure;
    }
    await pause(wait, undefined, { signal: request.signal });
  }
}

/** What a call returned: `const user = data(await client.GET(…))`. */
export function data<T>(answer: { data?: T; response: Response }): T {
  if (answer.data === undefined) {
    throw new TypeError(`the answer ${answer.response.status} has no data`);
  }
  return answer.data;
}

/** The parameters of one page. */
export interface Page {
  limit: number;
  after?: number;
}

/**
 * The items of a list, page by page, as they are asked for:
 *
 *     for await (const user of pages((query) => client.GET("/api/v1/user/{org}/", { params: { path: { org }, query } }))) { … }
 */
export async function* pages<T>(
  call: (page: Page) => Promise<{ data?: T[]; response: Response }>,
  limit = 500,
): AsyncGenerator<T, void, undefined> {
  let page: Page | undefined = { limit };
  while (page) {
    const answer: { data?: T[]; response: Response } = await call(page);
    yield* data(answer);
    const next = /<([^>]*)>;\s*rel="next"/.exec(answer.response.headers.get("Link") ?? "")?.[1];
    const after = next && new URL(next, "http://localhost").searchParams.get("after");
    page = after ? { limit, after: Number(after) } : undefined;
  }
}

/** The first pause between two polls, in milliseconds. With less time left, no poll follows. */
const shortestPause = 50;

/** The least time for the first poll, in milliseconds, so that the occurrence is read once. */
const firstPoll = 1000;

/** The longest time, in milliseconds, that a timer of JavaScript can wait. */
const longestTimer = 2 ** 31 - 1;

/**
 * Triggers an event and returns its occurrence when every delivery has ended: sent, failed or
 * skipped, as `counts` says. The key of the client needs event:trigger and delivery:read.
 *
 * `timeout` milliseconds, a minute unless set, after the answer to the trigger it returns the
 * occurrence as it was seen last; messages go on being sent. When the occurrence cannot be read, or
 * was never read in this time, it throws a WaitError with its id.
 *
 * Any other error may mean that only the answer to the trigger is lost. To call it again without
 * sending twice, give an `idempotencyKey`: with the same key, the same request within 24 hours is
 * done once. All attempts of one call have the same key; a call without one gets a random key, so
 * that a second call is another request.
 */
export async function triggerAndWait(
  client: Tocsin,
  event: { org: string; prj: string; app: string; evt: string },
  body: components["schemas"]["Trigger"],
  timeout = 60_000,
  idempotencyKey?: string,
): Promise<components["schemas"]["Occurrence"]> {
  const header = idempotencyKey === undefined ? {} : { "Idempotency-Key": idempotencyKey };
  const triggered = data(
    await client.POST("/api/o/{org}/p/{prj}/a/{app}/e/{evt}/trigger/", { params: { path: event, header }, body }),
  );
  if (!("occurrence" in triggered)) {
    throw new TypeError("a dry run has nothing to wait for");
  }
  const { org, prj, app } = event;
  const path = { org, prj, app, id: triggered.occurrence };
  const ends = performance.now() + timeout;
  let seen: components["schemas"]["Occurrence"] | undefined;
  for (let wait = shortestPause; ; wait = Math.min(2 * wait, 2000)) {
    const signal = AbortSignal.timeout(Math.min(Math.max(Math.ceil(ends - performance.now()), seen ? 0 : firstPoll), longestTimer));
    try {
      const shown = data(await client.GET("/api/o/{org}/p/{prj}/a/{app}/occurrences/{id}/", { params: { path }, signal }));
      // What is being sent when an occurrence is cancelled ends after that.
      const { pending, sending, retrying } = shown.counts;
      if (shown.state === "done" || (shown.state === "cancelled" && pending + sending + retrying === 0)) {
        return shown;
      }
      seen = shown;
    } catch (error) {
      if (!seen || !signal.aborted) {
        throw new WaitError(triggered.occurrence, error);
      }
      return seen;
    }
    const left = ends - performance.now();
    if (left < shortestPause) {
      return seen;
    }
    await pause(Math.min(wait, left / 2)); // The last poll needs time, too.
  }
}
