// Registers somebody with an application, sends the newsletter of the demo to nobody else, and waits until it is sent.
import { connect, triggerAndWait } from "../src/index.js"; // In a program of its own: "@tocsin/client".

const client = connect(process.env["TOCSIN_URL"] ?? "", process.env["TOCSIN_KEY"] ?? "");
const app = { org: "acme", prj: "shop", app: "web" };
const email = "typist@example.org";

await client.POST("/api/o/{org}/p/{prj}/a/{app}/register/", {
  params: { path: app },
  body: {
    username: email,
    email,
    addresses: [{ value: email, assign_to_preferred_channel: true }],
    distribution_list: "customers",
  },
});

const { counts } = await triggerAndWait(client, { ...app, evt: "newsletter" }, {
  context: { title: "Hello", body: "New in the shop." },
  options: { limit_to: [email] },
});
console.log(`sent ${counts.sent}, failed ${counts.failed}, skipped ${counts.skipped}`);
