/**
 * A client of the Tocsin API. Paths, bodies and answers are generated from its OpenAPI document and live in schema.ts. This module adds what every
 * program needs around them: the key, repetition of what failed for the moment, errors, pages, a trigger that waits, and verification of
 * webhooks.
 */
export { connect, data, pages, triggerAndWait, type Options, type Tocsin } from "./client.js";
export { TocsinError, WaitError } from "./errors.js";
export { SignatureError, verifyWebhook, type Message } from "./webhook.js";
export type { components, operations, paths } from "./schema.js";
