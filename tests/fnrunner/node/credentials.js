// Certificates out of arguments: CA CERTIFICATE KEY, paths of PEM files, for both sides; no
// arguments mean plain connections.
"use strict";

const fs = require("node:fs");
const grpc = require("@grpc/grpc-js");

exports.client = (paths) => {
  if (paths.length === 0) return grpc.credentials.createInsecure();
  const [ca, certificate, key] = paths.map((path) => fs.readFileSync(path));
  return grpc.credentials.createSsl(ca, key, certificate);
};

exports.server = (paths) => {
  if (paths.length === 0) return grpc.ServerCredentials.createInsecure();
  const [ca, certificate, key] = paths.map((path) => fs.readFileSync(path));
  return grpc.ServerCredentials.createSsl(ca, [{ private_key: key, cert_chain: certificate }], true);
};
