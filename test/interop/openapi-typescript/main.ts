import assert from "node:assert/strict";
import createClient from "openapi-fetch";
import type { components, paths } from "./schema.js";

const client = createClient<paths>({
  baseUrl: process.env["TOCSIN_URL"]!,
  headers: { Authorization: `Key ${process.env["TOCSIN_KEY"]}` },
});
const org = "acme";
const app = { org, prj: "shop", app: "web" };

const made = await client.POST("/api/v1/user/{org}/", {
  params: { path: { org } },
  body: { email: "ts@example.org", first_name: "Ada", custom_fields: { plan: "pro", nested: { n: 1 } } },
});
assert.equal(made.response.status, 201);
assert.deepEqual(made.data?.custom_fields, { plan: "pro", nested: { n: 1 } });

const username = "ts@example.org";
const changed = await client.PATCH("/api/v1/user/{org}/{username}/", {
  params: { path: { org, username } },
  body: { custom_fields: { plan: "free" }, _mode: "merge" },
});
assert.equal(changed.data?.custom_fields["plan"], "free");

const registration: components["schemas"]["Registration"] = {
  username,
  addresses: [{ value: username, assign_to_preferred_channel: true }, { value: "+4915112345678" }],
  distribution_list: "customers",
};
const registered = await client.POST("/api/o/{org}/p/{prj}/a/{app}/register/", { params: { path: app }, body: registration });
assert.equal(registered.data?.addresses[1]?.type, "phone");
assert.equal(registered.data?.distribution_list?.recipients_added, 1);

const triggered = await client.POST("/api/o/{org}/p/{prj}/a/{app}/e/{evt}/trigger/", {
  params: { path: { ...app, evt: "newsletter" }, header: { "Idempotency-Key": "ts" } },
  body: { context: { title: "Hello", body: "World" }, options: { limit_to: [username] } },
});
assert.equal(triggered.response.status, 201);

const users = await client.GET("/api/v1/user/{org}/", { params: { path: { org }, query: { limit: 1 } } });
assert.equal(users.data?.length, 1);

const wrong = await client.POST("/api/v1/user/{org}/", { params: { path: { org } }, body: { email: "nobody" } });
assert.equal(wrong.response.status, 400);
const problem: components["schemas"]["InvalidProblem"] | components["schemas"]["Problem"] | components["schemas"]["LimitedProblem"] | undefined = wrong.error;
assert.ok(problem && "errors" in problem && problem.errors["email"]);
