package taskssim

import (
	"maps"
	"net/http"
)

// Labels returns the shared labels with the number of active tasks that carry
// them: the service has no endpoint that shows it.
func (s *Sim) Labels() map[string]int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return maps.Clone(s.world.labels)
}

// removeLabel answers E7. Body and answer are not documented: the label is the
// first known name in the body, and the answer is a text.
func (s *Sim) removeLabel(r *http.Request) (any, *refusal) {
	old, _, refused := s.namedLabels(r)
	if refused != nil {
		return nil, refused
	}
	s.mu.Lock()
	delete(s.world.labels, old)
	s.mu.Unlock()
	return "ok", nil
}

// renameLabel answers E8. The new name is the first other text in the body; a
// name that is there already takes over the tasks.
func (s *Sim) renameLabel(r *http.Request) (any, *refusal) {
	old, others, refused := s.namedLabels(r)
	if refused == nil && len(others) == 0 {
		refused = badRequest("The body holds no new name.")
	}
	if refused != nil {
		return nil, refused
	}
	s.mu.Lock()
	count := s.world.labels[old]
	delete(s.world.labels, old)
	s.world.labels[others[0]] += count
	s.mu.Unlock()
	return map[string]any{"renamed_tasks": count}, nil
}

// namedLabels finds the label that a body means, and its other texts. Fields are
// looked at in the order of their names.
func (s *Sim) namedLabels(r *http.Request) (label string, others []string, refused *refusal) {
	body, refused := object(r)
	if refused != nil {
		return "", nil, refused
	}
	named := texts(body)
	s.mu.Lock()
	defer s.mu.Unlock()
	for i, text := range named {
		if _, ok := s.world.labels[text]; ok {
			return text, append(append([]string{}, named[:i]...), named[i+1:]...), nil
		}
	}
	return "", nil, notFound("No shared label of that name.")
}
