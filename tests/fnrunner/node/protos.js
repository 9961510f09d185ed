// The services and messages, for client.js and server.js.
"use strict";

const path = require("node:path");
const grpc = require("@grpc/grpc-js");
const loader = require("@grpc/proto-loader");
const protobuf = require("protobufjs");

const files = ["evaluator", "health", "rpc", "reflection"].map((name) =>
  path.join(__dirname, `${name}.proto`),
);
const loaded = loader.loadSync(files, { keepCase: true, enums: String, defaults: true });

exports.services = grpc.loadPackageDefinition(loaded);
exports.types = new protobuf.Root().loadSync(files, { keepCase: true });
