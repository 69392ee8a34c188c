// Package h2 follows what passes over an HTTP/2 connection that carries gRPC, without decoding headers and without holding
// any of it.
//
// gRPC for Go reports a message when it is complete; until then nobody knows what it holds of it. [Frames] sees the frames
// of one direction as their bytes pass, and [Messages] sees the messages within the DATA of one stream. A server counts
// with them what a client has sent of messages that it may never complete.
package h2
