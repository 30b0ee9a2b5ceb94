package main

import (
	"errors"
	"fmt"
	"strings"
	"unicode"

	"google.golang.org/protobuf/reflect/protoreflect"
)

// checkStyle returns what readers of the protocol in another language would stumble
// over: a field, value or call without a comment, a number that is neither used nor
// reserved, an enum without an UNSPECIFIED zero, a value without its enum's name
// before it (C++ and Python put all values of a package into one space).
func checkStyle(file protoreflect.FileDescriptor) error {
	s := &style{file: file}
	s.messages(file.Messages())
	s.enums(file.Enums())
	for i := range file.Services().Len() {
		service := file.Services().Get(i)
		s.commented(service)
		for j := range service.Methods().Len() {
			s.commented(service.Methods().Get(j))
		}
	}
	return errors.Join(s.faults...)
}

type style struct {
	file   protoreflect.FileDescriptor
	faults []error
}

func (s *style) faultf(format string, args ...any) {
	s.faults = append(s.faults, fmt.Errorf(format, args...))
}

func (s *style) commented(d protoreflect.Descriptor) {
	at := s.file.SourceLocations().ByDescriptor(d)
	if strings.TrimSpace(at.LeadingComments+at.TrailingComments) == "" {
		s.faultf("%s has no comment", d.FullName())
	}
}

func (s *style) messages(list protoreflect.MessageDescriptors) {
	for i := range list.Len() {
		m := list.Get(i)
		last := protoreflect.FieldNumber(0)
		for j := range m.Fields().Len() {
			field := m.Fields().Get(j)
			s.commented(field)
			last = max(last, field.Number())
		}
		for n := protoreflect.FieldNumber(1); n < last; n++ {
			if m.Fields().ByNumber(n) == nil && !m.ReservedRanges().Has(n) {
				s.faultf("number %d of %s is neither used nor reserved", n, m.FullName())
			}
		}
		s.messages(m.Messages())
		s.enums(m.Enums())
	}
}

func (s *style) enums(list protoreflect.EnumDescriptors) {
	for i := range list.Len() {
		e := list.Get(i)
		prefix := upperSnake(string(e.Name())) + "_"
		if zero := e.Values().ByNumber(0); zero == nil || string(zero.Name()) != prefix+"UNSPECIFIED" {
			s.faultf("enum %s has no zero %sUNSPECIFIED", e.FullName(), prefix)
		}
		last := protoreflect.EnumNumber(0)
		for j := range e.Values().Len() {
			value := e.Values().Get(j)
			s.commented(value)
			if !strings.HasPrefix(string(value.Name()), prefix) {
				s.faultf("value %s of enum %s does not begin with %s", value.Name(), e.FullName(), prefix)
			}
			last = max(last, value.Number())
		}
		for n := protoreflect.EnumNumber(1); n < last; n++ {
			if e.Values().ByNumber(n) == nil && !e.ReservedRanges().Has(n) {
				s.faultf("number %d of enum %s is neither used nor reserved", n, e.FullName())
			}
		}
	}
}

// upperSnake is a name of a type as its values begin: TokenState is TOKEN_STATE.
func upperSnake(name string) string {
	var b strings.Builder
	for i, r := range name {
		if i > 0 && unicode.IsUpper(r) {
			b.WriteByte('_')
		}
		b.WriteRune(unicode.ToUpper(r))
	}
	return b.String()
}
