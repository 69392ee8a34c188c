// Package h2 observes an HTTP/2 connection that carries gRPC. It decodes no headers and keeps no data.
//
// gRPC for Go reports a message only when it is complete. [Frames] sees the frames of one direction as their bytes pass, and
// [Messages] sees the messages in the DATA of one stream. A server uses them to count the bytes of messages that a client
// may never complete.
package h2
