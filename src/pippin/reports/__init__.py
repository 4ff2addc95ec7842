"""Tables, figures and pages: data first, drawing after."""
