// Against a real service with the tenants of configs/demo.yaml, which test/interop/run starts.
import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { test } from "node:test";
import { promisify } from "node:util";
import { connect, data, pages, TocsinError, triggerAndWait, WaitError, type components } from "../src/index.js";

function environment(name: string): string {
  const value = process.env[name];
  assert.ok(value, `${name} is not set: run make test-clients`);
  return value;
}

const url = environment("TOCSIN_URL");
const key = environment("TOCSIN_KEY");
const org = "acme";
const app = { org, prj: "shop", app: "web" };
const event = { ...app, evt: "newsletter" };
const clientOf = (address: string) => connect(address, key, { retries: 3, firstPause: 1, longestPause: 2000 });
const client = clientOf(url);

/** Makes somebody a member and a recipient of the newsletter. */
async function enrolled(email: string): Promise<void> {
  const addresses = [{ value: email, assign_to_preferred_channel: true }];
  const body = { username: email, email, addresses, distribution_list: "customers" };
  const made = data(await client.POST("/api/o/{org}/p/{prj}/a/{app}/register/", { params: { path: app }, body }));
  assert.equal(made.distribution_list?.recipients_added, 1);
}

type Trigger = components["schemas"]["Trigger"];
const newsletter = (to: string, options: Trigger["options"] = {}): Trigger => ({
  context: { title: "Hello", body: "World" },
  options: { limit_to: [to], ...options },
});

async function refusal(call: Promise<unknown>): Promise<TocsinError> {
  try {
    await call;
  } catch (error) {
    assert.ok(error instanceof TocsinError, String(error));
    return error;
  }
  assert.fail("it was not refused");
}

/** A server in front of the service, which asks a function what to do with each request. */
async function unreliable(
  meddle: (attempt: number, request: IncomingMessage, body: Buffer, answer: ServerResponse) => void | Promise<void>,
  use: (address: string, keys: (string | undefined)[]) => Promise<void>,
): Promise<void> {
  const keys: (string | undefined)[] = [];
  const server = createServer((request, answer) => {
    const parts: Buffer[] = [];
    request.on("data", (part: Buffer) => parts.push(part));
    request.on("end", () => {
      keys.push(request.headers["idempotency-key"] as string | undefined);
      void meddle(keys.length, request, Buffer.concat(parts), answer);
    });
  });
  await new Promise<void>((listening) => server.listen(0, "127.0.0.1", listening));
  try {
    await use(`http://127.0.0.1:${(server.address() as AddressInfo).port}`, keys);
  } finally {
    server.closeAllConnections();
    server.close();
  }
}

test("calls", async () => {
  const username = "typescript@example.org";
  const body = { email: username, custom_fields: { plan: "pro" } };
  const made = data(await client.POST("/api/v1/user/{org}/", { params: { path: { org } }, body }));
  assert.ok(made.created);
  assert.equal(made.custom_fields["plan"], "pro");
  const params = { path: { org, username } };
  const patch = { custom_fields: { plan: "free" } };
  const changed = data(await client.PATCH("/api/v1/user/{org}/{username}/", { params, body: patch }));
  assert.equal(changed.custom_fields["plan"], "free");
  assert.equal(data(await client.DELETE("/api/v1/user/{org}/{username}/", { params })).deleted, 1);
});

test("pages", async () => {
  const want = [0, 1, 2, 3, 4].map((i) => `typescript-page-${i}@example.org`);
  for (const email of want) {
    await client.POST("/api/v1/user/{org}/", { params: { path: { org } }, body: { email } });
  }
  let asked = 0;
  const got: string[] = [];
  const users = pages((query) => {
    asked++;
    return client.GET("/api/v1/user/{org}/", { params: { path: { org }, query } });
  }, 2);
  for await (const user of users) {
    got.push(user.username);
  }
  assert.deepEqual(got.filter((name) => name.startsWith("typescript-page-")), want);
  assert.ok(asked >= 3);
  const path = { org, prj: "shop", pk: 99_999 };
  const nowhere = pages((query) => client.GET("/api/o/{org}/p/{prj}/d/{pk}/m/", { params: { path, query } }));
  assert.equal((await refusal(nowhere.next())).status, 404);
});

test("errors", async () => {
  const body = { email: "nobody" };
  const error = await refusal(client.POST("/api/v1/user/{org}/", { params: { path: { org } }, body }));
  assert.equal(error.status, 400);
  assert.equal(error.fields["email"]?.length, 1);
  assert.ok(error.requestId && error.code && error.message.includes("email"));
  assert.equal((await refusal(connect(url, "tcs_wrong").GET("/api/system/ping/"))).status, 401);
  for (const address of ["", "tocsin.example.org", "ftp://tocsin.example.org"]) {
    assert.throws(() => connect(address, key), TypeError);
  }
  assert.throws(() => connect(url, " "), TypeError);
});

test("space around the key", async () => {
  // Keys are often read from files, which end in a newline.
  data(await connect(url, `\n${key}\n`, { retries: 0 }).GET("/api/system/ping/"));
});

test("retries", async () => {
  const to = "typescript-retry@example.org";
  await enrolled(to);
  await unreliable(
    async (attempt, request, body, answer) => {
      if (attempt === 1) {
        answer.writeHead(503, { "Retry-After": "1" }).end();
        return;
      }
      const headers = { "Content-Type": "application/json", Authorization: request.headers.authorization ?? "", "Idempotency-Key": String(request.headers["idempotency-key"]) };
      const passed = await fetch(url + (request.url ?? ""), { method: "POST", headers, body: new Uint8Array(body) });
      if (attempt === 2) {
        request.socket.destroy(); // The call was made, and its answer is lost.
        return;
      }
      const replayed = passed.headers.get("Idempotency-Replayed") ?? "";
      answer.writeHead(passed.status, { "Content-Type": "application/json", "Idempotency-Replayed": replayed });
      answer.end(await passed.text());
    },
    async (address, keys) => {
      const began = performance.now();
      const answer = await clientOf(address).POST("/api/o/{org}/p/{prj}/a/{app}/e/{evt}/trigger/", { params: { path: event }, body: newsletter(to) });
      assert.equal(answer.response.headers.get("Idempotency-Replayed"), "true");
      assert.ok(performance.now() - began >= 999, "it did not wait as long as the service asked for");
      assert.equal(keys.length, 3);
      assert.ok(keys[0]);
      assert.equal(new Set(keys).size, 1);
    },
  );
});

test("retries of enrollments", async () => {
  // They are retried without a key, unless the caller gives one: they make no duplicates.
  const done: number[] = [];
  await unreliable(
    async (attempt, request, body, answer) => {
      const headers = new Headers({ "Content-Type": "application/json", Authorization: request.headers.authorization ?? "" });
      const named = request.headers["idempotency-key"];
      if (named !== undefined) {
        headers.set("Idempotency-Key", String(named));
      }
      const passed = await fetch(url + (request.url ?? ""), { method: "POST", headers, body: new Uint8Array(body) });
      if (attempt % 2 === 1) {
        done.push(passed.status);
        answer.writeHead(502).end();
        return;
      }
      answer.writeHead(passed.status, { "Content-Type": "application/json" }).end(await passed.text());
    },
    async (address, keys) => {
      const client = clientOf(address);
      const email = "typescript-enrolled@example.org";
      const one = data(await client.POST("/api/v1/user/{org}/", { params: { path: { org } }, body: { email } }));
      assert.equal(one.created, false);
      const many = data(await client.POST("/api/v1/user/{org}/bulk/", { params: { path: { org } }, body: { users: [{ email }] } }));
      assert.equal(many.results.length, 1);
      const body = { username: "typescript-registered" };
      const registered = data(await client.POST("/api/o/{org}/p/{prj}/a/{app}/register/", { params: { path: app }, body }));
      assert.equal(registered.user.username, body.username);
      assert.deepEqual(done, [201, 200, 201]);
      assert.deepEqual(keys, new Array(6).fill(undefined));
      const params = { path: { org }, header: { "Idempotency-Key": "typescript-named" } };
      const named = data(await client.POST("/api/v1/user/{org}/", { params, body: { email: "typescript-named@example.org" } }));
      assert.equal(named.created, true);
      assert.deepEqual(keys.slice(6), ["typescript-named", "typescript-named"]);
    },
  );
});

for (const [status, after, attempts] of [
  [502, "0", 4], [429, "3600", 1], [403, "0", 1], [500, "0", 1], [429, "9999999999", 1], [503, "9".repeat(400), 1],
] as const) {
  test(`retries end after ${status} with ${after}`, () =>
    unreliable(
      (_attempt, _request, _body, answer) => {
        answer.writeHead(status, { "Retry-After": after }).end("<html>not from the service");
      },
      async (address, keys) => {
        const error = await refusal(clientOf(address).GET("/api/system/ping/"));
        assert.equal(error.status, status);
        assert.equal(error.detail, "<html>not from the service");
        assert.equal(keys.length, attempts);
      },
    ));
}

// A proxy may answer with JSON, too.
for (const page of ['{"status": "error", "detail": "x"}', '{"status": true}', '{"status": null}', "[400]"]) {
  test(`JSON that is no problem: ${page}`, () =>
    unreliable(
      (_attempt, _request, _body, answer) => void answer.writeHead(403).end(page),
      async (address) => {
        const error = await refusal(clientOf(address).GET("/api/system/ping/"));
        assert.deepEqual([error.status, error.detail], [403, page]);
      },
    ));
}

// The service tests a channel each time that it is asked to, and a lost answer does not say that no message was sent.
for (const [status, attempts] of [[0, 1], [502, 1], [504, 1], [429, 4], [503, 4]] as const) {
  test(`retries of channel tests after ${status}`, () =>
    unreliable(
      (_attempt, request, _body, answer) => {
        if (status) {
          answer.writeHead(status).end();
        } else {
          request.socket.destroy();
        }
      },
      async (address, keys) => {
        const body = { to: "ada@example.org" };
        const path = { org, prj: "shop", channel: 1 };
        await assert.rejects(clientOf(address).POST("/api/o/{org}/c/{channel}/test/", { params: { path }, body }));
        assert.equal(keys.length, attempts);
        await assert.rejects(clientOf(address).POST("/api/o/{org}/p/{prj}/c/{channel}/test/", { params: { path }, body }));
        assert.equal(keys.length, 2 * attempts);
      },
    ));
}

test("redirects", async (t) => {
  const username = "typescript-redirect@example.org";
  await client.POST("/api/v1/user/{org}/", { params: { path: { org } }, body: { email: username } });
  const remove = (of: typeof client) =>
    of.DELETE("/api/v1/user/{org}/{username}/", { params: { path: { org, username } } });
  for (const status of [301, 302, 303, 307, 308]) {
    await unreliable(
      (_attempt, request, _body, answer) => {
        answer.writeHead(status, { Location: url + (request.url ?? "") }).end();
      },
      async (address, keys) => {
        const error = await refusal(remove(clientOf(address)));
        assert.equal(error.status, status);
        assert.equal(error.detail, `redirected to ${url}/api/v1/user/acme/${username.replace("@", "%40")}/: use this URL`);
        assert.equal(keys.length, 1);
      },
    );
  }
  assert.equal(data(await remove(client)).deleted, 1);
  await unreliable(
    (_attempt, _request, _body, answer) => void answer.writeHead(304).end(),
    async (address) => assert.equal((await clientOf(address).GET("/api/system/ping/")).response.status, 304),
  );
  // A browser shows nothing of a redirect. Its status is 0, as that of Response.error().
  t.mock.method(globalThis, "fetch", () => Promise.resolve(Response.error()));
  const error = await refusal(client.GET("/api/system/ping/"));
  assert.equal(error.status, 0);
  assert.equal(error.detail, "redirected: use the URL that it leads to");
});

test("a call that is given up is not repeated", () =>
  unreliable(
    () => {}, // It never answers.
    async (address, keys) => {
      const signal = AbortSignal.timeout(100);
      await assert.rejects(clientOf(address).GET("/api/system/ping/", { signal }), { name: "TimeoutError" });
      assert.equal(keys.length, 1);
    },
  ));

test("trigger and wait", async () => {
  const to = "typescript-wait@example.org";
  await enrolled(to);
  const done = await triggerAndWait(client, event, newsletter(to));
  assert.equal(done.state, "done");
  assert.equal(done.counts.sent, 1);
  assert.equal(done.counts.failed, 0);

  const tomorrow = new Date(Date.now() + 86_400_000).toISOString();
  for (const timeout of [0, 200]) {
    const waiting = await triggerAndWait(client, event, newsletter(to, { send_at: tomorrow }), timeout);
    assert.equal(waiting.state, "scheduled");
    await client.POST("/api/o/{org}/p/{prj}/a/{app}/occurrences/{id}/cancel/", { params: { path: { ...app, id: waiting.id } } });
  }
  await assert.rejects(triggerAndWait(client, event, newsletter(to, { dry_run: true })), TypeError);
});

test("trigger and wait for a cancelled occurrence", async () => {
  // What was being sent when it was cancelled is waited for.
  const counts = { pending: 0, sending: 0, retrying: 0, sent: 0 };
  await unreliable(
    (attempt, _request, _body, answer) => {
      const now = ["", "pending", "sending", "retrying"][attempt - 1] ?? "sent";
      answer.writeHead(attempt === 1 ? 201 : 200, { "Content-Type": "application/json" });
      answer.end(JSON.stringify({ occurrence: 1, state: "cancelled", counts: { ...counts, [now]: 1 } }));
    },
    async (address, keys) => {
      const done = await triggerAndWait(clientOf(address), event, newsletter("nobody"));
      assert.deepEqual(done.counts, { ...counts, sent: 1 });
      assert.equal(keys.length, 5);
    },
  );
});

// Whoever triggered an event learns which occurrence it is, so that nobody triggers it again.
for (const [fault, status, cause, fails] of [
  ["a refusal", 403, TocsinError, (_request, answer) => answer.writeHead(403).end("<html>a proxy")],
  ["an error of a proxy", 502, TocsinError, (_request, answer) => answer.writeHead(502).end("<html>a proxy")],
  ["a page of a proxy", 0, SyntaxError, (_request, answer) => answer.writeHead(200).end("<html>a proxy")],
  ["an answer without content", 0, TypeError, (_request, answer) => answer.writeHead(204).end()],
  ["JSON that is no occurrence", 0, TypeError, (_request, answer) => answer.writeHead(200).end("{}")],
  ["a lost connection", 0, TypeError, (request) => request.socket.destroy()],
  ["no answer", 0, Error, () => {}],
  ["an answer that does not end", 0, Error, (_request, answer) => answer.writeHead(200).write("{")],
  ["a refusal that asks to wait", 0, Error, (_request, answer) => answer.writeHead(503, { "Retry-After": "2" }).end()],
] as [string, number, new (message: string) => Error, (request: IncomingMessage, answer: ServerResponse) => void][]) {
  for (const seen of [false, true]) {
    test(`trigger and wait with ${fault}${seen ? " after a state" : ""}`, () =>
      unreliable(
        (attempt, request, _body, answer) => {
          if (attempt > 2 || (attempt === 2 && !seen)) {
            fails(request, answer);
            return;
          }
          answer.writeHead(attempt === 1 ? 201 : 200, { "Content-Type": "application/json" });
          answer.end(JSON.stringify({ occurrence: 12, id: 12, state: "running", counts: { pending: 1, sending: 0, retrying: 0 } }));
        },
        async (address) => {
          const began = performance.now();
          const call = triggerAndWait(clientOf(address), event, newsletter("nobody"), 500);
          const inTime = cause !== Error; // Without an answer the timeout ends it.
          if (seen && !inTime) {
            assert.equal((await call).id, 12);
          } else {
            const error = await refusal(call);
            assert.ok(error instanceof WaitError, String(error));
            assert.equal(error.occurrence, 12);
            assert.equal(error.status, status);
            assert.ok(error.cause instanceof cause || (!inTime && error.cause instanceof DOMException), String(error.cause));
            assert.match(error.message, /occurrence 12 /);
          }
          const took = performance.now() - began;
          assert.ok(inTime || (took >= 499 && took < 2000), `it took ${took} ms`);
        },
      ));
  }
}

test("trigger and wait that is refused", async () => {
  const error = await refusal(triggerAndWait(client, { ...app, evt: "nothing" }, newsletter("nobody")));
  assert.equal(error.status, 404);
  assert.ok(!(error instanceof WaitError), "nothing was triggered that could be waited for");
});

test("trigger and wait with an Idempotency-Key", async () => {
  const to = "typescript-key@example.org";
  await enrolled(to);
  const first = await triggerAndWait(client, event, newsletter(to), Infinity, "typescript-wait");
  const again = await triggerAndWait(client, event, newsletter(to), undefined, "typescript-wait");
  assert.equal(again.id, first.id);
  const other = await triggerAndWait(client, event, newsletter(to)); // A key that is made up is another one each time.
  assert.ok(other.id > first.id);
});

test("the example", async () => {
  const example = new URL("../examples/first-message.js", import.meta.url).pathname;
  const { stdout } = await promisify(execFile)(process.execPath, [example]);
  assert.equal(stdout, "sent 1, failed 0, skipped 0\n");
});
