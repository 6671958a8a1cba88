// tell_port.mjs, for `node --import`: a server tells where it listens, once it does.

import { Server } from 'node:net';

const { listen } = Server.prototype;
Server.prototype.listen = function (...args) {
  this.once('listening', () => {
    console.error(`listening on http://127.0.0.1:${this.address().port}/mcp`);
  });
  return listen.apply(this, args);
};
