package http

import (
	"context"
	"encoding/binary"
	"net"
	"net/netip"
	"strings"
	"testing"

	"golang.org/x/net/dns/dnsmessage"
)

// resolver asks a name server of the test's own, over one connection a question.
func (w *world) resolver(t *testing.T) *net.Resolver {
	t.Helper()
	return &net.Resolver{PreferGo: true, Dial: func(context.Context, string, string) (net.Conn, error) {
		client, server := net.Pipe()
		go w.answerNames(server)
		return client, nil
	}}
}

// answerNames answers questions as a name server over TCP does: each with its length in
// front.
func (w *world) answerNames(conn net.Conn) {
	defer conn.Close()
	for {
		var length [2]byte
		if _, err := readFull(conn, length[:]); err != nil {
			return
		}
		question := make([]byte, binary.BigEndian.Uint16(length[:]))
		if _, err := readFull(conn, question); err != nil {
			return
		}
		answer := w.answerName(question)
		if answer == nil {
			return
		}
		if _, err := conn.Write(append(binary.BigEndian.AppendUint16(nil, uint16(len(answer))), answer...)); err != nil {
			return
		}
	}
}

func readFull(conn net.Conn, into []byte) (n int, err error) {
	for n < len(into) && err == nil {
		var more int
		more, err = conn.Read(into[n:])
		n += more
	}
	return n, err
}

func (w *world) answerName(question []byte) []byte {
	var message dnsmessage.Message
	if message.Unpack(question) != nil || len(message.Questions) != 1 {
		return nil
	}
	asked := message.Questions[0]
	name := strings.ToLower(strings.TrimSuffix(asked.Name.String(), "."))
	message.Response, message.RCode, message.Additionals = true, dnsmessage.RCodeNameError, nil
	for _, text := range w.names[name] {
		message.RCode = dnsmessage.RCodeSuccess
		address := netip.MustParseAddr(text)
		header := dnsmessage.ResourceHeader{Name: asked.Name, Type: asked.Type, Class: asked.Class, TTL: 0}
		switch {
		case address.Is4() && asked.Type == dnsmessage.TypeA:
			message.Answers = append(message.Answers, dnsmessage.Resource{Header: header, Body: &dnsmessage.AResource{A: address.As4()}})
		case address.Is6() && asked.Type == dnsmessage.TypeAAAA:
			message.Answers = append(message.Answers, dnsmessage.Resource{Header: header, Body: &dnsmessage.AAAAResource{AAAA: address.As16()}})
		}
	}
	packed, err := message.Pack()
	if err != nil {
		return nil
	}
	return packed
}
